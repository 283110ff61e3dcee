SELECT auction, bidder, price, `dateTime` FROM bid
