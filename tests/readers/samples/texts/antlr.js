// Generated from Kingfisher.g4 by ANTLR 4.7.2
// jshint ignore: start
var antlr4 = require('antlr4/index');

// This class defines a complete listener for a parse tree produced by KingfisherParser.
function KingfisherListener() {
	antlr4.tree.ParseTreeListener.call(this);
	return this;
}

KingfisherListener.prototype = Object.create(antlr4.tree.ParseTreeListener.prototype);
KingfisherListener.prototype.constructor = KingfisherListener;

// Enter a parse tree produced by KingfisherParser#level.
KingfisherListener.prototype.enterLevel = function(ctx) {
};

// Exit a parse tree produced by KingfisherParser#level.
KingfisherListener.prototype.exitLevel = function(ctx) {
};



exports.KingfisherListener = KingfisherListener;