import Synchronization

/// A value of a property of a MIDI object.
package enum MIDIProperty: Sendable, Equatable {
  case integer(Int32)
  case string(String)
  case data([UInt8])
  /// A property list in XML.
  case list([UInt8])
}

/// A device, an entity, an endpoint, a client, a port or a thru connection, by a number that no other object of the
/// process has. Any thread.
package class MIDIObject: @unchecked Sendable {
  package let reference: UInt32
  private let values = Mutex<[String: MIDIProperty]>([:])

  private static let latest = Atomic<UInt32>(0)
  private static let table = Mutex<[UInt32: MIDIObject]>([:])

  init() { reference = Self.latest.add(1, ordering: .relaxed).newValue }

  /// Lets the object be found by its number.
  func enter() { Self.table.withLock { $0[reference] = self } }

  /// Lets the object be found no more.
  func leave() { Self.table.withLock { $0[reference] = nil } }

  /// Returns the object with a number; nil if there is none, or it is of another class.
  package static func find<Object: MIDIObject>(
    _ reference: UInt32, as type: Object.Type = Object.self
  ) -> Object? { table.withLock { $0[reference] } as? Object }

  /// Returns the object with a unique ID; nil if there is none.
  package static func find(uniqueID: Int32) -> MIDIObject? {
    table.withLock { $0.values.first { $0.property("uniqueID") == .integer(uniqueID) } }
  }

  /// Properties that the library knows.
  func facts() -> [String: MIDIProperty] { [:] }

  /// The object whose properties this one has, too.
  var parent: MIDIObject? { nil }
  /// True while the object is part of the setup.
  package var isPresent: Bool { true }

  /// Returns a property of the object, or of what it is a part of.
  package func property(_ name: String) -> MIDIProperty? {
    values.withLock { $0[name] } ?? facts()[name]
      ?? (Self.own.contains(name) ? nil : parent?.property(name))
  }

  /// Properties that each object has for itself.
  private static let own: Set = ["name", "displayName", "uniqueID"]

  /// All properties of the object itself.
  package var properties: [String: MIDIProperty] {
    values.withLock { values in facts().merging(values) { $1 } }
  }

  /// Sets a property.
  package func set(_ name: String, to value: MIDIProperty) { values.withLock { $0[name] = value } }

  /// Removes a property that was set.
  ///
  /// - Returns: False if there is none.
  package func remove(_ name: String) -> Bool {
    values.withLock { $0.removeValue(forKey: name) } != nil
  }
}
