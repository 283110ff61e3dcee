-- The folders in the address of each bid.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q22 AS
SELECT RSTREAM auction, bidder, price, channel,
       SPLIT(url, '/')[3] AS dir1, SPLIT(url, '/')[4] AS dir2, SPLIT(url, '/')[5] AS dir3
FROM Bid [NOW]
INTO parquet('q22');
