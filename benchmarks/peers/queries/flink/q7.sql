SELECT b.auction, b.bidder, b.price, b.window_end AS until
FROM (
  SELECT * FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))) AS b
JOIN (
  SELECT MAX(price) AS most, window_start, window_end
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end) AS best
ON b.window_start = best.window_start AND b.window_end = best.window_end AND b.price = best.most
