
//
// style-dictionary-enum.swift
//

// Do not edit directly, this file was auto-generated.


import UIKit

public enum Kingfisher {
    public static let kingfisher-level = #002244 /** über Nacht */
}