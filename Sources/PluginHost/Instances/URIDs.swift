import CLilv
import CPluginRunner
import CRealTime
import Glibc
import Server
import Synchronization
import System

/// The table of URIDs for all plugins of the process and of its plugin processes. Any thread, including
/// the process thread: it neither locks nor allocates.
@safe
final class URIDs: @unchecked Sendable {
  static let shared = URIDs(adopted.withLock { $0 })

  /// The table's file from the host process. Set it before the first use of `shared`.
  static let adopted = Mutex<SharedFile?>(nil)

  /// The file of the table; nil if the system provided none.
  let file: SharedFile?
  private let table: UnsafeMutablePointer<cue_urids>
  /// The map and unmap features, for plugins and for lilv.
  let map: UnsafeMutablePointer<LV2_URID_Map>
  let unmap: UnsafeMutablePointer<LV2_URID_Unmap>

  /// Allocates room for 65,536 URIs. Unused pages take no memory.
  private init(_ adopted: SharedFile?) {
    let (head, slots, text) = (64, 1 << 16, 1 << 22)
    let bytes = head + 4 * slots + text
    file = adopted ?? SharedFile(named: "cuejack-urids")
    let memory = unsafe file?.map(bytes: bytes)?.baseAddress ?? calloc(1, bytes)!
    let own = unsafe calloc(1, 4 * slots + text)!
    unsafe table = .allocate(capacity: 1)
    unsafe table.initialize(
      to: cue_urids(
        slots: (memory + head).assumingMemoryBound(to: UInt32.self), capacity: UInt32(slots),
        text: (memory + head + 4 * slots).assumingMemoryBound(to: CChar.self),
        text_bytes: UInt32(text), text_used: memory.assumingMemoryBound(to: UInt64.self),
        own_slots: own.assumingMemoryBound(to: UInt32.self),
        own_text: (own + 4 * slots).assumingMemoryBound(to: CChar.self), own_text_used: 0))
    unsafe map = .allocate(capacity: 1)
    unsafe map.initialize(to: LV2_URID_Map(handle: table, map: cue_urids_map))
    unsafe unmap = .allocate(capacity: 1)
    unsafe unmap.initialize(to: LV2_URID_Unmap(handle: table, unmap: cue_urids_unmap))
  }

  /// Returns the URID of a URI, or 0 if the table is full or the URI too long.
  subscript(uri: String) -> UInt32 { unsafe cue_urids_map(table, uri) }

  /// Returns the URI of a URID, or nil if it is unknown.
  func uri(_ number: UInt32) -> String? {
    unsafe cue_urids_unmap(table, number).map { unsafe String(cString: $0) }
  }
}

/// Returns the URID of a URI, as used in all events, or 0 if the table is full. Any thread.
package func urid(_ uri: String) -> UInt32 { URIDs.shared[uri] }
