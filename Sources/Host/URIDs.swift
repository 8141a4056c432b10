import CLilv
import CRealTime
import Foundation

/// URIs as numbers, for all plugins of the process. Any thread, a cycle's too: nothing locks or
/// allocates.
@safe
final class URIDs: @unchecked Sendable {
  static let shared = URIDs()

  private let table: UnsafeMutablePointer<cue_urids>
  /// The features, for plugins and for lilv.
  let map: UnsafeMutablePointer<LV2_URID_Map>
  let unmap: UnsafeMutablePointer<LV2_URID_Unmap>

  /// Room for 65,536 URIs; memory that is not used is not there.
  private init() {
    let count = 1 << 16
    let bytes = 1 << 22
    unsafe table = .allocate(capacity: 1)
    unsafe table.initialize(
      to: cue_urids(
        slots: calloc(count, MemoryLayout<UnsafeMutablePointer<CChar>?>.stride)!
          .assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self),
        capacity: UInt32(count),
        text: calloc(1, bytes)!.assumingMemoryBound(to: CChar.self), text_bytes: bytes,
        text_used: 0))
    unsafe map = .allocate(capacity: 1)
    unsafe map.initialize(to: LV2_URID_Map(handle: table, map: cue_urids_map))
    unsafe unmap = .allocate(capacity: 1)
    unsafe unmap.initialize(to: LV2_URID_Unmap(handle: table, unmap: cue_urids_unmap))
  }

  /// The number of a URI; 0 if the table is full.
  subscript(uri: String) -> UInt32 { unsafe cue_urids_map(table, uri) }

  /// The URI of a number; nil if it has none.
  func uri(_ number: UInt32) -> String? {
    unsafe cue_urids_unmap(table, number).map { unsafe String(cString: $0) }
  }
}

/// The number that stands for a URI in all events; 0 if there are too many. Any thread.
package func urid(_ uri: String) -> UInt32 { URIDs.shared[uri] }
