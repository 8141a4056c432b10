import CPluginRunner
import CRealTime
import Glibc
import Server
import System

/// The host's view of the memory that it shares with a plugin's process, and the node that a cycle
/// runs.
///
/// Touched and, where the system permits, locked on creation, so that no cycle causes a page fault.
@safe
final class IsolatedMemory: @unchecked Sendable {
  /// Size of the head, which precedes everything else and never moves.
  static let headBytes = 4096
  /// Minimum plugin latency, in frames, for which the input is kept.
  private static let keptFrames = 1 << 15

  /// The file passed to the plugin's process.
  let file: SharedFile
  /// The node that a cycle runs. Its address never changes.
  let node: UnsafeMutablePointer<cue_isolated>
  private let head: UnsafeMutableRawBufferPointer
  /// Held while the shared part moves, and by threads other than the process thread that read it.
  private let moving = Lock()
  private var shared: UnsafeMutableRawBufferPointer?
  private var blocks: [UnsafeMutableRawBufferPointer] = unsafe []

  /// Creates the memory without a shape. Returns nil if the system provides none.
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

  /// Returns the shape for a plugin's ports.
  static func shape(_ ports: PluginPorts, maximumFrames: Int) -> cue_shared_shape {
    cue_shared_shape(
      inputs: UInt32(ports.inputs.count), outputs: UInt32(ports.outputs.count),
      event_inputs: UInt32(ports.eventInputs.count),
      event_outputs: UInt32(ports.eventOutputs.count), readouts: UInt32(ports.readouts.count),
      maximum_frames: UInt32(maximumFrames), event_bytes: UInt32(ports.eventBytes))
  }

  /// Resets the memory for a plugin's ports. Precondition: neither a cycle nor the plugin's process
  /// uses it.
  ///
  /// - Returns: `false` if there is not enough memory; then nothing has changed.
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

  // MARK: Any thread

  private var sharedHead: UnsafeMutablePointer<cue_shared_head> {
    unsafe node.pointee.shared.head
  }

  /// Bytes of the blocks given to the plugin, and of the blocks that its process reports as done.
  var givenBytes: UInt64 { unsafe cue_isolated_given(node) }
  var takenBytes: UInt64 { unsafe cue_shared_taken(sharedHead) }
  /// Frames that the plugin has processed since its start.
  var doneFrames: Int64 { unsafe cue_shared_done(sharedHead) }
  /// How often the plugin was late, and the frames of input heard instead of its output.
  var late: UInt64 { unsafe cue_isolated_late(node) }
  var missingFrames: UInt64 { unsafe cue_isolated_missing(node) }
  /// Events and messages lost on either side because a buffer was full.
  var lost: UInt64 {
    // The process may write any number.
    unsafe cue_isolated_lost(node) + min(cue_shared_lost(sharedHead), UInt64(UInt32.max))
  }
  /// Returns the last value that the plugin wrote to a control output.
  func shown(_ readout: Int) -> Float {
    moving.lock()
    defer { moving.unlock() }
    return unsafe cue_shared_shown(&node.pointee.shared, UInt32(readout))
  }
  /// Makes cycles bypass the plugin for good.
  func giveUp() { unsafe cue_isolated_give_up(node) }
}
