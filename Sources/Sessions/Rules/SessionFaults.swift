/// The first faults of a value, and the number of the others.
package struct SessionFaults: Sendable {
  static let most = 100
  private var first: [SessionFault]
  private var others: Int
  private var severity = SessionFault.Severity.error

  package init(_ faults: [SessionFault] = []) {
    first = Array(faults.prefix(Self.most))
    others = faults.count - first.count
    if faults.dropFirst(Self.most).allSatisfy({ $0.severity == .warning }) { severity = .warning }
  }

  /// Adds an error.
  mutating func append(_ fault: @autoclosure () -> SessionFault) {
    if first.count < Self.most {
      first.append(fault())
    } else {
      (others, severity) = (others + 1, .error)
    }
  }

  package var isEmpty: Bool { first.isEmpty }

  /// The faults; the last one counts those that are left out.
  package var list: [SessionFault] {
    if others == 0 { return first }
    return first + [
      SessionFault(
        severity, .root, "\(others) more fault\(others == 1 ? " is" : "s are") not listed")
    ]
  }
}
