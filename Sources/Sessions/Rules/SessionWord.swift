/// One of a fixed set of words.
package protocol SessionWord: SessionValue, CaseIterable, RawRepresentable
where RawValue == String {}

extension SessionWord {
  package init?(json: JSONValue) {
    guard let word = json.string else { return nil }
    self.init(rawValue: word)
  }
  package var json: JSONValue { .text(rawValue) }
  static var shape: SessionShape { .word(allCases.map(\.rawValue)) }
}
