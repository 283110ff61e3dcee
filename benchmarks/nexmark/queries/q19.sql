-- The ten highest bids on each auction, and those that are as high as the tenth.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q19 AS
SELECT auction, bidder, price, dateTime
FROM Bid [RANGE UNBOUNDED] b
WHERE price >= (SELECT MIN(top.price)
                FROM (SELECT c.price FROM Bid [RANGE UNBOUNDED] c
                      WHERE c.auction = b.auction ORDER BY c.price DESC LIMIT 10) AS top)
INTO parquet('q19');
