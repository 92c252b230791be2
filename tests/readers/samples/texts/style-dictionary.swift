
//
// style-dictionary.swift
//

// Do not edit directly, this file was auto-generated.


import UIKit

public class Kingfisher {
    public static let kingfisher-level = #002244 /** über Nacht */
}