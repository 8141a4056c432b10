import CLilv

/// Accessors for lilv nodes. The caller holds the lock of their world.
@safe
struct LilvNodes {
  let world: OpaquePointer

  /// Calls `body` with the node of a URI from the LV2 vocabularies.
  func withURI<Result>(_ uri: String, _ body: (OpaquePointer) -> Result) -> Result {
    let node = unsafe lilv_new_uri(world, uri)!
    defer { unsafe lilv_node_free(node) }
    return unsafe body(node)
  }

  /// Calls `body` with a URI node for `text`. Returns nil if the text is no URI.
  func ifURI<Result>(_ text: String, _ body: (OpaquePointer) -> Result) -> Result? {
    // lilv prints an error for a text without a scheme.
    guard text.contains(":"), let node = unsafe lilv_new_uri(world, text) else { return nil }
    defer { unsafe lilv_node_free(node) }
    return unsafe body(node)
  }

  /// Returns the items of a list that the caller owns, and frees the list.
  func take<Item>(_ list: UnsafeMutableRawPointer?, _ item: (OpaquePointer) -> Item?) -> [Item] {
    defer { if let list = unsafe list { unsafe lilv_nodes_free(list) } }
    return unsafe items(list, item)
  }

  /// Returns the items of a list that the world owns.
  func items<Item>(_ list: UnsafeMutableRawPointer?, _ item: (OpaquePointer) -> Item?) -> [Item] {
    guard let list = unsafe list else { return [] }
    var found: [Item] = []
    var iterator = unsafe lilv_nodes_begin(list)
    while unsafe !lilv_nodes_is_end(list, iterator) {
      if let node = unsafe lilv_nodes_get(list, iterator), let next = unsafe item(node) {
        found.append(next)
      }
      unsafe iterator = unsafe lilv_nodes_next(list, iterator)
    }
    return found
  }

  /// Returns all objects of (subject, predicate).
  func objects(_ subject: OpaquePointer?, _ predicate: String) -> UnsafeMutableRawPointer? {
    unsafe withURI(predicate) { unsafe lilv_world_find_nodes(world, subject, $0, nil) }
  }

  /// Returns the texts of all objects of (subject, predicate).
  func texts(_ subject: OpaquePointer?, _ predicate: String) -> [String] {
    unsafe take(objects(subject, predicate)) { unsafe text($0) }
  }

  /// Returns the text of the first object of (subject, predicate).
  func text(_ subject: OpaquePointer?, _ predicate: String) -> String? {
    unsafe texts(subject, predicate).first
  }

  /// Returns the first numeric object of (subject, predicate).
  func number(_ subject: OpaquePointer?, _ predicate: String) -> Double? {
    unsafe take(objects(subject, predicate)) { unsafe number($0) }.first
  }

  /// Returns a node's URI, text or blank name.
  func text(_ node: OpaquePointer?) -> String? {
    guard let node = unsafe node, let text = unsafe lilv_node_as_string(node) else { return nil }
    return unsafe String(cString: text)
  }

  /// Returns the text of a node that the caller owns, and frees the node.
  func takeText(_ node: OpaquePointer?) -> String? {
    defer { if let node = unsafe node { unsafe lilv_node_free(node) } }
    return unsafe text(node)
  }

  /// Returns the value of a numeric or boolean node, or nil if it is not finite as a float, like
  /// control values.
  func number(_ node: OpaquePointer?) -> Double? {
    guard let node = unsafe node else { return nil }
    if unsafe lilv_node_is_float(node) || lilv_node_is_int(node) {
      // lilv parses “NaN” and “INF” as 0.
      let text = unsafe text(node) ?? ""
      let number = unsafe Double(lilv_node_as_float(node))
      return text.contains(where: \.isNumber) && Float(number).isFinite ? number : nil
    }
    if unsafe lilv_node_is_bool(node) { return unsafe lilv_node_as_bool(node) ? 1 : 0 }
    return nil
  }
}
