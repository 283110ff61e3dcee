-- How many bids each person has made in each 10 seconds by the clock that sees them come.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv');

REGISTER QUERY q12 AS
SELECT RSTREAM bidder, COUNT(*) AS bids
FROM Bid WINDOW(RANGE 10 SECONDS SLIDE 10 SECONDS)
GROUP BY bidder
INTO parquet('q12');
