// Code generated from Kingfisher.g4 by ANTLR 4.7.2. DO NOT EDIT.

package parser // Kingfisher

import "github.com/antlr/antlr4/runtime/Go/antlr"

// BaseKingfisherListener is a complete listener for a parse tree produced by KingfisherParser.
type BaseKingfisherListener struct{}

var _ KingfisherListener = &BaseKingfisherListener{}

// VisitTerminal is called when a terminal node is visited.
func (s *BaseKingfisherListener) VisitTerminal(node antlr.TerminalNode) {}

// VisitErrorNode is called when an error node is visited.
func (s *BaseKingfisherListener) VisitErrorNode(node antlr.ErrorNode) {}

// EnterEveryRule is called when any rule is entered.
func (s *BaseKingfisherListener) EnterEveryRule(ctx antlr.ParserRuleContext) {}

// ExitEveryRule is called when any rule is exited.
func (s *BaseKingfisherListener) ExitEveryRule(ctx antlr.ParserRuleContext) {}

// EnterLevel is called when production level is entered.
func (s *BaseKingfisherListener) EnterLevel(ctx *LevelContext) {}

// ExitLevel is called when production level is exited.
func (s *BaseKingfisherListener) ExitLevel(ctx *LevelContext) {}
