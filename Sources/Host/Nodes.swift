import CLilv

/// lilv's nodes, read under the lock of the world that they are from.
@safe
struct Nodes {
  let world: OpaquePointer

  /// Calls `body` with the node of a URI of LV2's vocabularies.
  func withURI<Result>(_ uri: String, _ body: (OpaquePointer) -> Result) -> Result {
    let node = unsafe lilv_new_uri(world, uri)!
    defer { unsafe lilv_node_free(node) }
    return unsafe body(node)
  }

  /// Calls `body` with the node of what may be a URI; nil if it is none.
  func ifURI<Result>(_ text: String, _ body: (OpaquePointer) -> Result) -> Result? {
    // lilv prints an error for a text without a scheme.
    guard text.contains(":"), let node = unsafe lilv_new_uri(world, text) else { return nil }
    defer { unsafe lilv_node_free(node) }
    return unsafe body(node)
  }

  /// The items of a list that is ours, which is freed.
  func take<Item>(_ list: UnsafeMutableRawPointer?, _ item: (OpaquePointer) -> Item?) -> [Item] {
    defer { if let list = unsafe list { unsafe lilv_nodes_free(list) } }
    return unsafe items(list, item)
  }

  /// The items of a list that is the world's.
  func items<Item>(_ list: UnsafeMutableRawPointer?, _ item: (OpaquePointer) -> Item?) -> [Item] {
    guard let list = unsafe list else { return [] }
    var found: [Item] = []
    var place = unsafe lilv_nodes_begin(list)
    while unsafe !lilv_nodes_is_end(list, place) {
      if let node = unsafe lilv_nodes_get(list, place), let next = unsafe item(node) {
        found.append(next)
      }
      unsafe place = unsafe lilv_nodes_next(list, place)
    }
    return found
  }

  /// Every object of (subject, predicate).
  func objects(_ subject: OpaquePointer?, _ predicate: String) -> UnsafeMutableRawPointer? {
    unsafe withURI(predicate) { unsafe lilv_world_find_nodes(world, subject, $0, nil) }
  }

  /// The texts of every object of (subject, predicate).
  func texts(_ subject: OpaquePointer?, _ predicate: String) -> [String] {
    unsafe take(objects(subject, predicate)) { unsafe text($0) }
  }

  /// The text of the first object of (subject, predicate).
  func text(_ subject: OpaquePointer?, _ predicate: String) -> String? {
    unsafe texts(subject, predicate).first
  }

  /// The number that is the first object of (subject, predicate).
  func number(_ subject: OpaquePointer?, _ predicate: String) -> Double? {
    unsafe take(objects(subject, predicate)) { unsafe number($0) }.first
  }

  /// A node's URI, text or blank name.
  func text(_ node: OpaquePointer?) -> String? {
    guard let node = unsafe node, let text = unsafe lilv_node_as_string(node) else { return nil }
    return unsafe String(cString: text)
  }

  /// The same of a node that is ours, which is freed.
  func takeText(_ node: OpaquePointer?) -> String? {
    defer { if let node = unsafe node { unsafe lilv_node_free(node) } }
    return unsafe text(node)
  }

  /// A number's or a truth value's number; nil if it is not finite as a float, as controls are.
  func number(_ node: OpaquePointer?) -> Double? {
    guard let node = unsafe node else { return nil }
    if unsafe lilv_node_is_float(node) || lilv_node_is_int(node) {
      // lilv takes “NaN” and “INF” for 0.
      let text = unsafe text(node) ?? ""
      let number = unsafe Double(lilv_node_as_float(node))
      return text.contains(where: \.isNumber) && Float(number).isFinite ? number : nil
    }
    if unsafe lilv_node_is_bool(node) { return unsafe lilv_node_as_bool(node) ? 1 : 0 }
    return nil
  }
}
