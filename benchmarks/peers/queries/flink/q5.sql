SELECT counted.auction, counted.bids, counted.window_end AS until
FROM (
  SELECT auction, COUNT(*) AS bids, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end) AS counted
JOIN (
  SELECT MAX(bids) AS most, window_start, window_end
  FROM (
    SELECT COUNT(*) AS bids, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end)
  GROUP BY window_start, window_end) AS best
ON counted.window_start = best.window_start AND counted.window_end = best.window_end AND counted.bids = best.most
