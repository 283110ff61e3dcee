-- The sum and the number of the bids on each auction in the last 60 seconds, at every instant.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY sliding AS
SELECT auction, SUM(price) AS total, COUNT(*) AS bids
FROM Bid [RANGE 60 SECONDS]
GROUP BY auction
INTO parquet('sliding');
