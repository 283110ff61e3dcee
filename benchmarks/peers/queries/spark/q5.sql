SELECT best.auction, best.bids, until
FROM (
  SELECT window(window_time(window), '2 seconds').end AS until, collect_list(struct(auction, bids)) AS counted,
         MAX(bids) AS most
  FROM (SELECT auction, COUNT(*) AS bids, window(dateTime, '10 seconds', '2 seconds') AS window
        FROM bid GROUP BY auction, window(dateTime, '10 seconds', '2 seconds'))
  GROUP BY window(window_time(window), '2 seconds'))
LATERAL VIEW explode(filter(counted, x -> x.bids = most)) AS best
