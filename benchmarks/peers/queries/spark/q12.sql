SELECT bidder, COUNT(*) AS bids, window.end AS until
FROM bid
GROUP BY bidder, window(current_timestamp(), '10 seconds')
