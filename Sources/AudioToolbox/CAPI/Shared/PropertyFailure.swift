import CAudioToolbox

/// The reason why a call for a property fails.
protocol PropertyFailure: APIFailure {
  /// Creates the failure for a value that does not have the property's size.
  static func wrongSize(_ id: UInt32, needed: Int, size: Int) -> Self
  /// Creates the failure for memory that has no room for a value.
  static func noRoom(_ id: UInt32, size: Int, room: Int) -> Self
}

extension PropertyFailure {
  static func noRoom(_ id: UInt32, size: Int, room: Int) -> Self {
    .wrongSize(id, needed: size, size: room)
  }
}
