/// The union of two changed versions of a session with a common ancestor.
package struct SessionMerge {
  /// The own version with the other one's changes.
  let merged: JSONValue
  /// Where the other version differs from the ancestor.
  private(set) var changes: [SessionPath] = []
  /// Where both versions differ from the ancestor and from each other.
  private(set) var conflicts: [SessionPath] = []

  init(base: SessionDocument, own: SessionDocument, other: SessionDocument) {
    var (changes, conflicts): ([SessionPath], [SessionPath]) = ([], [])
    merged =
      Self.merge(base.json, own.json, other.json, .root, &changes, &conflicts) ?? .table([:])
    self.changes = changes
    self.conflicts = conflicts
  }

  /// Returns the union of a value's versions; nil stands for an absent value.
  private static func merge(
    _ base: JSONValue?, _ own: JSONValue?, _ other: JSONValue?, _ path: SessionPath,
    _ changes: inout [SessionPath], _ conflicts: inout [SessionPath]
  ) -> JSONValue? {
    if other == base { return own }
    if case .table(let a)? = base, case .table(let b)? = own, case .table(let c)? = other {
      var members: [String: JSONValue] = [:]
      for key in Set(a.keys).union(b.keys).union(c.keys).sorted() {
        members[key] = merge(
          a[key], b[key], c[key], path.appending(name: key), &changes, &conflicts)
      }
      return .table(members)
    }
    if let a = labelled(base), let b = labelled(own), let c = labelled(other),
      a.order == b.order || a.order == c.order || b.order == c.order
    {
      let order = a.order == b.order ? c.order : b.order
      if a.order != c.order, Set(a.order) == Set(c.order) { changes.append(path) }
      var elements: [JSONValue] = []
      for name in order + Set(a.order + b.order + c.order).subtracting(order).sorted() {
        let path = SessionPath(path.steps + [.name(name)])
        let element = merge(
          a.elements[name], b.elements[name], c.elements[name], path, &changes, &conflicts)
        if let element { elements.append(element) }
      }
      return .list(elements)
    }
    changes.append(path)
    if own == base || own == other { return other }
    conflicts.append(path)
    return own
  }

  /// Returns the elements of a list by their names or ids, and the order of these; nil if the value is no list,
  /// or one has none of its own.
  private static func labelled(_ value: JSONValue?)
    -> (order: [String], elements: [String: JSONValue])?
  {
    guard let list = value?.elements else { return nil }
    var (order, elements): ([String], [String: JSONValue]) = ([], [:])
    for element in list {
      guard let name = (element.members?["name"] ?? element.members?["id"])?.string,
        elements.updateValue(element, forKey: name) == nil
      else { return nil }
      order.append(name)
    }
    return (order, elements)
  }

  /// Returns a bounded list of paths for a message.
  package static func words(for paths: [SessionPath]) -> String {
    let most = 10
    let more = paths.count > most ? " and \(paths.count - most) more" : ""
    return paths.prefix(most).map(\.description).joined(separator: ", ") + more
  }
}
