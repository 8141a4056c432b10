import Foundation
import Sessions
import TestSupport
import Testing

@Suite struct SessionSchemaTests {
  private static let file = repository.appendingPathComponent("sessions/session.schema.json")

  private func published() throws -> JSONValue {
    try JSON5Parser.parse(Array(Data(contentsOf: Self.file)))
  }

  /// `CUEJACK_WRITE_SCHEMA=1` writes the file anew.
  @Test func thePublishedSchemaIsTheTableOfFields() throws {
    if ProcessInfo.processInfo.environment["CUEJACK_WRITE_SCHEMA"] != nil {
      try Data(SessionSchema.json.bytes(isPretty: true) + [0x0A]).write(to: Self.file)
    }
    try expectEqual(published(), SessionSchema.json, "the file is older than the types")
  }

  /// The stored properties of each type and the keys of the schema. A key differs from its property where it is
  /// listed here.
  @Test func theKeysAreThoseOfTheTypes() throws {
    let records: [(any SessionRecord.Type, [String: String])] = [
      (SessionDocument.self, [:]), (SessionTransport.self, [:]),
      (SessionTrack.self, ["files": "file", "volume": "gain"]), (SessionPlugin.self, [:]),
      (SessionBus.self, [:]), (SessionSend.self, [:]),
      (SessionRecording.self, [:]), (SessionConnection.self, [:]), (SessionMapping.self, [:]),
      (SessionGroup.self, [:]), (SessionScene.self, [:]), (SessionCurve.self, [:]),
      (SessionPoint.self, [:]),
    ]
    let schema = try published()
    let definitions = try require(schema.members?["$defs"]?.members)
    expectEqual(definitions.count, records.count - 1)
    for (type, names) in records {
      let properties = Mirror(reflecting: type.init()).children.compactMap(\.label)
      let keys = properties.map { names[$0] ?? $0 }
      let rules = type == SessionDocument.self ? schema : definitions[type.shape.name]
      let published = rules?.members?["properties"]?.members?.filter {
        $1.members?["deprecated"] == nil
      }
      expectEqual(published?.keys.sorted(), keys.sorted(), "\(type)")
      expectEqual(type.shape.fields.map(\.key), keys, "\(type)")
    }
  }

  @Test func documentsAgreeWithTheSchema() throws {
    let checker = SchemaChecker(try published())
    expectEqual(checker.faults(of: sampleSession().json), [])
    for name in ["duo", "mix", "record", "scenes"] {
      let path = repository.appendingPathComponent("sessions/\(name)/session.json")
      expectEqual(checker.faults(of: try JSON5Parser.parse(Array(Data(contentsOf: path)))), [])
    }
  }

  /// The schema refuses what the program refuses, and accepts what it accepts.
  @Test func theSchemaAgreesWithTheProgram() throws {
    let checker = SchemaChecker(try published())
    var generator = SeededGenerator(seed: 1)
    let values: [JSONValue] = [
      .null, .flag(true), .integer(0), .integer(3), .integer(-1), .integer(99999), .number(0.5),
      .text(""), .text("main"), .text("system:playback_1"), .text("urn:a:b"), .text("a b"),
      .text("../a"), .text("/osc"), .text("cc7@3"), .text("60@2"), .text("s24"), .text("lead"),
      .list([]), .list([.text("a:b")]), .list([.integer(1)]), .table([:]),
      .table(["beat": .integer(2)]), .table(["gain": .number(0.5)]), .text("tracks[drums].pan"),
    ]
    var refused = 0
    for _ in 0..<600 {
      var tree = sampleSession().json
      let value = values.randomElement(using: &generator)!
      Self.damage(&tree, with: value, &generator)
      var faults = SessionFaults()
      SessionShape.record(SessionDocument.shape).check(tree, at: .root, &faults)
      let others = checker.faults(of: tree)
      expectEqual(faults.isEmpty, others.isEmpty, "\(faults) \(others)")
      refused += faults.isEmpty ? 0 : 1
    }
    expectTrue(refused > 120 && refused < 590)
  }

  /// Replaces, adds or removes one value at a random place.
  private static func damage(
    _ tree: inout JSONValue, with value: JSONValue, _ generator: inout SeededGenerator
  ) {
    switch tree {
    case .table(var members) where Int.random(in: 0..<8, using: &generator) > 0:
      let key = members.keys.sorted().randomElement(using: &generator) ?? "x"
      if Int.random(in: 0..<12, using: &generator) == 0 {
        members[["zz", "gain", "volume", "bus"].randomElement(using: &generator)!] = value
      } else if Int.random(in: 0..<12, using: &generator) == 0 {
        members[key] = nil
      } else if var member = members[key] {
        damage(&member, with: value, &generator)
        members[key] = member
      }
      tree = .table(members)
    case .list(var elements)
    where !elements.isEmpty && Int.random(in: 0..<8, using: &generator) > 0:
      let index = elements.indices.randomElement(using: &generator)!
      damage(&elements[index], with: value, &generator)
      tree = .list(elements)
    default: tree = value
    }
  }
}
