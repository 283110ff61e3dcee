-- How many bids each person has made in the session that is open; 10 seconds without a bid end it.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q11 AS
SELECT bidder, COUNT(*) AS bids, MIN(dateTime) AS first, MAX(dateTime) AS last
FROM Bid [SESSION GAP 10 SECONDS PARTITION BY bidder]
GROUP BY bidder
INTO parquet('q11');
