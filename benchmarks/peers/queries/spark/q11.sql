SELECT bidder, COUNT(*) AS bids, MIN(dateTime) AS first, MAX(dateTime) AS last
FROM bid
GROUP BY bidder, session_window(dateTime, '10 seconds')
