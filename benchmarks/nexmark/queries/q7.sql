-- The highest bid of each 10 seconds; of several that are equally high, all.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q7 AS
SELECT RSTREAM auction, bidder, price
FROM Bid WINDOW(RANGE 10 SECONDS SLIDE 10 SECONDS)
WHERE price = (SELECT MAX(price) FROM Bid WINDOW(RANGE 10 SECONDS SLIDE 10 SECONDS))
INTO parquet('q7');
