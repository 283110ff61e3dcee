SELECT best.auction, best.bidder, best.price, until
FROM (
  SELECT window.end AS until, MAX_BY(bids, price) AS top
  FROM (SELECT window(window_time(window), '10 seconds') AS window, price, bids
        FROM (SELECT window(dateTime, '10 seconds') AS window, price, collect_list(struct(auction, bidder, price)) AS bids
              FROM bid GROUP BY window(dateTime, '10 seconds'), price))
  GROUP BY window)
LATERAL VIEW explode(top) AS best
