-- Bids with their prices in euros.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q1 AS
SELECT RSTREAM auction, bidder, 0.908 * price AS price, dateTime
FROM Bid [NOW]
INTO parquet('q1');
