SELECT bidder, COUNT(*) AS bids
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(arrival), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
