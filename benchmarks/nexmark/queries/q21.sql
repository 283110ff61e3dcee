-- The number of the channel of each bid: four have names, others tell it in their address.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q21 AS
SELECT RSTREAM auction, bidder, price, channel,
       CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
            ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM Bid [NOW]
WHERE REGEXP_LIKE(url, '(&|^)channel_id=([^&]*)') OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')
INTO parquet('q21');
