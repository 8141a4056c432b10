import CLilv
import Glibc

/// Parameter values that a plugin reports in a patch:Set or patch:Put message.
struct ParameterMessage: Sendable {
  /// The values by parameter URI.
  private(set) var values: [String: ParameterValue] = [:]

  /// Reads a message from the memory of an atom. An atom of another type gives no values.
  @safe init(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= MemoryLayout<LV2_Atom_Object>.size else { return }
    let object = unsafe bytes.baseAddress!.assumingMemoryBound(to: LV2_Atom_Object.self)
    let urids = URIDs.shared
    var found: [String: UnsafePointer<LV2_Atom>] = unsafe [:]
    unsafe Self.each(of: object) { key, value in unsafe found[key] = unsafe value }
    switch unsafe urids.uri(object.pointee.body.otype) {
    case LV2.patch("Set"):
      if let property = unsafe found[LV2.patch("property")],
        let value = unsafe found[LV2.patch("value")],
        case .uri(let uri)? = ParameterValue(property), let value = ParameterValue(value)
      {
        values[uri] = value
      }
    case LV2.patch("Put"):
      guard let body = unsafe found[LV2.patch("body")], unsafe Int(body.pointee.size) >= 8 else {
        return
      }
      unsafe Self.each(
        of: UnsafeRawPointer(body).assumingMemoryBound(to: LV2_Atom_Object.self)
      ) { key, value in values[key] = ParameterValue(value) }
    default: break
    }
  }

  private static func each(
    of object: UnsafePointer<LV2_Atom_Object>,
    _ body: (String, UnsafePointer<LV2_Atom>) -> Void
  ) {
    let size = unsafe object.pointee.atom.size
    let start = unsafe UnsafeRawPointer(object) + MemoryLayout<LV2_Atom>.size
    let content = unsafe start.assumingMemoryBound(to: LV2_Atom_Object_Body.self)
    var next = unsafe lv2_atom_object_begin(content)
    while let property = unsafe next, unsafe !lv2_atom_object_is_end(content, size, property) {
      // A value that runs past the end must not be read.
      let value = unsafe UnsafeRawPointer(property) + 8
      guard
        unsafe value + 8 <= start + Int(size),
        unsafe value + 8 + Int(property.pointee.value.size) <= start + Int(size)
      else { return }
      if let key = unsafe URIDs.shared.uri(property.pointee.key) {
        unsafe body(key, value.assumingMemoryBound(to: LV2_Atom.self))
      }
      unsafe next = unsafe lv2_atom_object_next(property)
    }
  }
}
