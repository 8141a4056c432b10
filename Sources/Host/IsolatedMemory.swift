import CRealTime
import Foundation
import Server

/// The host's side of the memory that it shares with a plugin's process, and what a cycle sees of it.
///
/// Touched and, where the system allows it, locked when it is made, so that no cycle faults.
@safe
final class IsolatedMemory: @unchecked Sendable {
  /// Bytes before the rest: the head stays where it is.
  static let headBytes = 4096
  /// Frames of a plugin's own latency for which its input is kept, at least.
  private static let keptFrames = 1 << 15

  /// Handed to the plugin's process.
  let file: SharedFile
  /// What a cycle works on. It stays where it is.
  let node: UnsafeMutablePointer<cue_isolated>
  private let head: UnsafeMutableRawBufferPointer
  /// Held while the shared part moves, and by those who read it who are no cycle.
  private let moving = NSLock()
  private var shared: UnsafeMutableRawBufferPointer?
  private var blocks: [UnsafeMutableRawBufferPointer] = unsafe []

  /// Memory without a shape yet; nil if the system gives none.
  init?() {
    guard let file = SharedFile(named: "cuejack-plugin"),
      let head = unsafe file.map(bytes: Self.headBytes)
    else { return nil }
    self.file = file
    unsafe self.head = unsafe head
    unsafe node = .allocate(capacity: 1)
    unsafe node.initialize(to: cue_isolated())
    unsafe node.pointee.shared.head = unsafe head.baseAddress!.assumingMemoryBound(
      to: cue_shared_head.self)
  }

  deinit {
    freeBlocks()
    if let shared = unsafe shared { unsafe munmap(shared.baseAddress, shared.count) }
    unsafe munmap(head.baseAddress, head.count)
    unsafe node.deallocate()
  }

  private func freeBlocks() {
    unsafe blocks.forEach { block in
      unsafe unlockFromMemory(UnsafeRawBufferPointer(block))
      unsafe block.deallocate()
    }
    unsafe blocks = unsafe []
  }

  /// The shape for a plugin's ports.
  static func shape(_ ports: PluginPorts, maximumFrames: Int) -> cue_shared_shape {
    cue_shared_shape(
      inputs: UInt32(ports.inputs.count), outputs: UInt32(ports.outputs.count),
      event_inputs: UInt32(ports.eventInputs.count),
      event_outputs: UInt32(ports.eventOutputs.count), readouts: UInt32(ports.readouts.count),
      maximum_frames: UInt32(maximumFrames), event_bytes: UInt32(ports.eventBytes))
  }

  /// Begins anew, empty, for a plugin's ports. While neither a cycle nor the plugin's process uses it.
  ///
  /// - Returns: False if there is not enough memory: it is as it was then.
  func prepare(_ ports: PluginPorts, _ settings: PluginSettings) -> Bool {
    var shape = Self.shape(ports, maximumFrames: settings.maximumFrames)
    let bytes = unsafe cue_shared_bytes(&shape)
    guard let memory = unsafe file.map(bytes: bytes, at: Self.headBytes) else { return false }
    moving.lock()
    defer { moving.unlock() }
    if let old = unsafe shared { unsafe munmap(old.baseAddress, old.count) }
    freeBlocks()
    unsafe shared = unsafe memory
    unsafe memset(memory.baseAddress!, 0, bytes)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
    let head = unsafe node.pointee.shared.head!
    unsafe cue_shared_reset(head)
    unsafe cue_shared_find(&node.pointee.shared, &shape, head, memory.baseAddress!)

    var frames = 64
    while frames < Self.keptFrames + 4 * settings.maximumFrames { frames *= 2 }
    unsafe node.pointee.dry = unsafe allocate(frames * ports.inputs.count, of: Float.self)
    unsafe node.pointee.dry_frames = UInt32(frames)
    unsafe node.pointee.last = unsafe allocate(ports.outputs.count, of: Float.self)
    unsafe node.pointee.offsets = unsafe allocate(ports.outputs.count, of: Float.self)
    unsafe node.pointee.fade_frames = UInt32(max(1, (settings.sampleRate / 100).rounded()))
    unsafe node.pointee.capacities = unsafe allocate(ports.eventOutputs.count, of: UInt32.self)
    unsafe node.pointee.event = unsafe UnsafeMutableRawPointer(
      allocate(ports.eventBytes, of: UInt8.self))
    unsafe node.pointee.urid_sequence = URIDs.shared[LV2.atom("Sequence")]
    unsafe node.pointee.latency_readout = Int32(ports.latencyReadout ?? -1)
    unsafe node.pointee.is_offline = settings.isOffline
    unsafe cue_isolated_reset(node)
    return true
  }

  private func allocate<Element: BitwiseCopyable>(_ count: Int, of type: Element.Type)
    -> UnsafeMutablePointer<Element>
  {
    let bytes = max(1, count) * MemoryLayout<Element>.stride
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes, alignment: 64)
    unsafe memset(block.baseAddress!, 0, bytes)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(block))
    unsafe blocks.append(block)
    return unsafe block.baseAddress!.bindMemory(to: Element.self, capacity: max(1, count))
  }

  // MARK: What any thread may ask

  private var sharedHead: UnsafeMutablePointer<cue_shared_head> {
    unsafe node.pointee.shared.head
  }

  /// Bytes of blocks that the plugin was given, and that its process says are done.
  var givenBytes: UInt64 { unsafe cue_isolated_given(node) }
  var takenBytes: UInt64 { unsafe cue_shared_taken(sharedHead) }
  /// Frames that the plugin has done since it began.
  var doneFrames: Int64 { unsafe cue_shared_done(sharedHead) }
  /// How often the plugin was late, and for how many frames its input was heard then.
  var late: UInt64 { unsafe cue_isolated_late(node) }
  var missingFrames: UInt64 { unsafe cue_isolated_missing(node) }
  /// Events and messages that found no room on either side.
  var lost: UInt64 {
    // The process may say any number.
    unsafe cue_isolated_lost(node) + min(cue_shared_lost(sharedHead), UInt64(UInt32.max))
  }
  /// What a control output of the plugin showed last.
  func shown(_ readout: Int) -> Float {
    moving.lock()
    defer { moving.unlock() }
    return unsafe cue_shared_shown(&node.pointee.shared, UInt32(readout))
  }
  /// Has cycles do without the plugin.
  func giveUp() { unsafe cue_isolated_give_up(node) }
}
