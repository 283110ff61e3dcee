-- Every bid with its day and minute, for a log that is kept by them.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q10 AS
SELECT RSTREAM auction, bidder, price, dateTime,
       DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS day, DATE_FORMAT(dateTime, 'HH:mm') AS minute
FROM Bid [NOW]
INTO parquet('q10');
