SELECT bidder, COUNT(*) AS bids, MIN(`dateTime`) AS `first`, MAX(`dateTime`) AS `last`
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
