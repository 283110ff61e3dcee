SELECT channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS `minute`,
       COUNT(*) AS total,
       COUNT(*) FILTER (WHERE price < 10000) AS low,
       COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
       COUNT(*) FILTER (WHERE price >= 1000000) AS high,
       COUNT(DISTINCT bidder) AS bidders,
       COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS low_bidders,
       COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bidders,
       COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS high_bidders,
       COUNT(DISTINCT auction) AS auctions,
       COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS low_auctions,
       COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_auctions,
       COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS high_auctions
FROM bid
GROUP BY channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')
