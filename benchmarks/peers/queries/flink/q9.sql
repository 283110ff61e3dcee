SELECT id, initialBid, reserve, expires, seller, category, bidder, price, bid_time AS `dateTime`
FROM (
  SELECT a.*, b.bidder, b.price, b.`dateTime` AS bid_time,
         ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime` ASC) AS place
  FROM auction AS a, bid AS b
  WHERE a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires)
WHERE place <= 1
