-- The auctions with the most bids in the last 10 seconds, every 2 seconds.
-- The window is that of PIPES, so that a bid on the edge of two windows is not in one window too many.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;
CREATE VIEW Counts AS
SELECT auction, COUNT(*) AS bids FROM Bid WINDOW(RANGE 10 SECONDS SLIDE 2 SECONDS) GROUP BY auction;

REGISTER QUERY q5 AS
SELECT RSTREAM auction, bids FROM Counts WHERE bids = (SELECT MAX(bids) FROM Counts)
INTO parquet('q5');
