SELECT auction, bidder, price, `dateTime`,
       DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, DATE_FORMAT(`dateTime`, 'HH:mm') AS `minute`
FROM bid
