SELECT DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS day,
       COUNT(*) AS total,
       COUNT(*) FILTER (WHERE price < 10000) AS low,
       COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
       COUNT(*) FILTER (WHERE price >= 1000000) AS high,
       SIZE(COLLECT_SET(bidder)) AS bidders,
       SIZE(COLLECT_SET(bidder) FILTER (WHERE price < 10000)) AS low_bidders,
       SIZE(COLLECT_SET(bidder) FILTER (WHERE price >= 10000 AND price < 1000000)) AS middle_bidders,
       SIZE(COLLECT_SET(bidder) FILTER (WHERE price >= 1000000)) AS high_bidders,
       SIZE(COLLECT_SET(auction)) AS auctions,
       SIZE(COLLECT_SET(auction) FILTER (WHERE price < 10000)) AS low_auctions,
       SIZE(COLLECT_SET(auction) FILTER (WHERE price >= 10000 AND price < 1000000)) AS middle_auctions,
       SIZE(COLLECT_SET(auction) FILTER (WHERE price >= 1000000)) AS high_auctions
FROM bid
GROUP BY DATE_FORMAT(dateTime, 'yyyy-MM-dd')
