SELECT auction, bidder, last.price, last.dateTime
FROM (SELECT auction, bidder, MAX(STRUCT(dateTime, price)) AS last FROM bid GROUP BY auction, bidder)
