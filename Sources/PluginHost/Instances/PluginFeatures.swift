import CLilv
import CPluginRunner
import CRealTime
import Glibc
import System

/// The features and options passed to a plugin on instantiation. Their memory lives as long as this
/// object.
@safe
final class PluginFeatures: @unchecked Sendable {
  /// The features for instantiation, and those for restoring a state, where work is done at once.
  let all, forRestoring: UnsafeMutablePointer<UnsafePointer<LV2_Feature>?>
  let options: UnsafeMutablePointer<LV2_Options_Option>
  /// The folder for files that the plugin creates. Created with the first file.
  private let scratch: ScratchFolder
  /// The values that the options point to.
  private let numbers: UnsafeMutablePointer<Int32>
  private let rate: UnsafeMutablePointer<Float>
  private let log: UnsafeMutablePointer<cue_plugin_log>
  private var features: [UnsafeMutablePointer<LV2_Feature>] = unsafe []
  private var blocks: [UnsafeMutableRawPointer] = unsafe []
  private var strings: [UnsafeMutablePointer<CChar>] = unsafe []

  /// Returns the URIs of the features that a plugin may require. The block length is stated truthfully:
  /// a run has any number of frames up to the maximum or, with fixed blocks, always the maximum.
  static func supported(_ settings: PluginSettings) -> Set<String> {
    var uris: Set = [
      LV2.urid("map"), LV2.urid("unmap"), LV2.options("options"),
      LV2.bufferSize("boundedBlockLength"), LV2.worker("schedule"), LV2.log("log"),
      LV2.state("makePath"), LV2.state("mapPath"), LV2.state("freePath"),
      LV2.state("loadDefaultState"), LV2.state("threadSafeRestore"), LV2.resizePort("resize"),
      LV2.core("inPlaceBroken"), LV2.core("hardRTCapable"), LV2.core("isLive"),
    ]
    if settings.hasFixedBlocks {
      uris.insert(LV2.bufferSize("fixedBlockLength"))
      if settings.maximumFrames.nonzeroBitCount == 1 {
        uris.insert(LV2.bufferSize("powerOf2BlockLength"))
      }
    }
    return uris
  }

  /// Creates the features for the plugin that runs in `memory`.
  ///
  /// - Parameter required: The features that the plugin requires. A plugin that requires lv2:isLive
  ///   receives it even offline, since it would not run otherwise.
  init(
    _ settings: PluginSettings, required: [String], memory: PluginMemory, scratch: ScratchFolder
  ) {
    self.scratch = scratch
    unsafe numbers = .allocate(capacity: 4)
    unsafe numbers.initialize(repeating: 0, count: 4)
    unsafe rate = .allocate(capacity: 1)
    unsafe rate.initialize(to: 0)
    unsafe options = .allocate(capacity: 6)
    unsafe options.initialize(repeating: LV2_Options_Option(), count: 6)
    unsafe log = .allocate(capacity: 1)
    unsafe log.initialize(to: cue_plugin_log())
    unsafe cue_plugin_log_initialize(log, memory.plugin)
    unsafe all = .allocate(capacity: 32)
    unsafe all.initialize(repeating: nil, count: 32)
    unsafe forRestoring = .allocate(capacity: 32)
    unsafe forRestoring.initialize(repeating: nil, count: 32)

    let urids = URIDs.shared
    let int = urids[LV2.atom("Int")]
    let keys = ["minBlockLength", "maxBlockLength", "nominalBlockLength", "sequenceSize"]
    for (i, key) in keys.enumerated() {
      unsafe options[i] = unsafe LV2_Options_Option(
        context: LV2_OPTIONS_INSTANCE, subject: 0, key: urids[LV2.bufferSize(key)], size: 4,
        type: int, value: numbers + i)
    }
    unsafe options[4] = unsafe LV2_Options_Option(
      context: LV2_OPTIONS_INSTANCE, subject: 0, key: urids[LV2.parameters("sampleRate")], size: 4,
      type: urids[LV2.atom("Float")], value: rate)
    unsafe numbers[3] = Int32(memory.eventBytes)
    update(settings)

    let makePath = unsafe block(
      LV2_State_Make_Path(
        handle: Unmanaged.passUnretained(self).toOpaque(),
        path: { handle, path in
          guard let handle = unsafe handle, let path = unsafe path else { return nil }
          return unsafe Unmanaged<PluginFeatures>.fromOpaque(handle).takeUnretainedValue()
            .makePath(String(systemName: path))
        }))
    let mapPath = unsafe block(
      LV2_State_Map_Path(
        handle: nil, abstract_path: { _, path in unsafe path.flatMap { unsafe strdup($0) } },
        absolute_path: { _, path in unsafe path.flatMap { unsafe strdup($0) } }))
    let freePath = unsafe block(
      LV2_State_Free_Path(handle: nil, free_path: { _, path in unsafe free(path) }))
    let resize = unsafe block(
      LV2_Resize_Port_Resize(
        data: memory.plugin,
        resize: { data, index, bytes in
          guard let data = unsafe data else { return LV2_RESIZE_PORT_ERR_UNKNOWN }
          let plugin = unsafe data.assumingMemoryBound(to: cue_plugin.self).pointee
          for i in unsafe 0..<Int(plugin.event_output_count)
          where unsafe plugin.event_outputs[i].index == index {
            return unsafe bytes <= Int(plugin.event_outputs[i].buffer_bytes)
              ? LV2_RESIZE_PORT_SUCCESS : LV2_RESIZE_PORT_ERR_NO_SPACE
          }
          return LV2_RESIZE_PORT_ERR_UNKNOWN
        }))
    let schedule = unsafe block(
      LV2_Worker_Schedule(
        handle: memory.plugin,
        schedule_work: { plugin, bytes, body in
          unsafe LV2_Worker_Status(rawValue: cue_plugin_schedule(plugin, bytes, body))
        }))
    // Some plugins call this feature with the handle of the other, so both handles are the same.
    let scheduleRestored = unsafe block(
      LV2_Worker_Schedule(
        handle: memory.plugin,
        schedule_work: { plugin, bytes, body in
          let context = unsafe plugin?.assumingMemoryBound(to: cue_plugin.self).pointee.context
          guard let context = unsafe context else { return LV2_WORKER_ERR_UNKNOWN }
          return unsafe Unmanaged<PluginCore>.fromOpaque(context).takeUnretainedValue()
            .workRestored(bytes, body)
        }))
    let data: [(String, UnsafeMutableRawPointer?)] = unsafe [
      (LV2.urid("map"), UnsafeMutableRawPointer(urids.map)),
      (LV2.urid("unmap"), UnsafeMutableRawPointer(urids.unmap)),
      (LV2.options("options"), UnsafeMutableRawPointer(options)),
      (LV2.log("log"), UnsafeMutableRawPointer(log)), (LV2.state("makePath"), makePath),
      (LV2.state("mapPath"), mapPath), (LV2.state("freePath"), freePath),
      (LV2.resizePort("resize"), resize),
    ]
    let withData = unsafe Set(data.map(unsafe \.0) + [LV2.worker("schedule")])
    var told = Self.supported(settings)
    if settings.isOffline && !required.contains(LV2.core("isLive")) {
      told.remove(LV2.core("isLive"))
    }
    let plain = unsafe told.subtracting(withData).sorted().map {
      unsafe ($0, nil as UnsafeMutableRawPointer?)
    }
    unsafe fill(all, data + plain + [(LV2.worker("schedule"), schedule)])
    // lilv provides path features of its own when it restores a state.
    let paths = ["makePath", "mapPath", "freePath"].map { LV2.state($0) }
    unsafe fill(
      forRestoring,
      data.filter { unsafe !paths.contains($0.0) } + plain
        + [(LV2.worker("schedule"), scheduleRestored)])
  }

  deinit {
    unsafe all.deallocate()
    unsafe forRestoring.deallocate()
    unsafe features.forEach { unsafe $0.deallocate() }
    unsafe blocks.forEach { unsafe $0.deallocate() }
    unsafe strings.forEach { unsafe free($0) }
    unsafe options.deallocate()
    unsafe numbers.deallocate()
    unsafe rate.deallocate()
    unsafe log.deallocate()
  }

  /// Updates the values of the options. Precondition: no cycle runs the plugin.
  func update(_ settings: PluginSettings) {
    unsafe numbers[0] = settings.hasFixedBlocks ? Int32(settings.maximumFrames) : 1
    unsafe numbers[1] = Int32(settings.maximumFrames)
    unsafe numbers[2] = Int32(settings.maximumFrames)
    unsafe rate.pointee = Float(settings.sampleRate)
  }

  private func makePath(_ path: String) -> UnsafeMutablePointer<CChar>? {
    guard scratch.make() else { return nil }
    let full = scratch.path + "/" + path
    _ = makeFolders(String(full.pathFolder))
    return unsafe strdup(full.systemName)
  }

  private func block<Value: BitwiseCopyable>(_ value: Value) -> UnsafeMutableRawPointer {
    let block = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    unsafe block.initialize(to: value)
    unsafe blocks.append(UnsafeMutableRawPointer(block))
    return UnsafeMutableRawPointer(block)
  }

  private func fill(
    _ list: UnsafeMutablePointer<UnsafePointer<LV2_Feature>?>,
    _ data: [(String, UnsafeMutableRawPointer?)]
  ) {
    for i in unsafe data.indices {
      let (uri, data) = unsafe data[i]
      let string = unsafe strdup(uri)!
      unsafe strings.append(string)
      let feature = UnsafeMutablePointer<LV2_Feature>.allocate(capacity: 1)
      unsafe feature.initialize(to: LV2_Feature(URI: string, data: data))
      unsafe features.append(feature)
      unsafe list[i] = unsafe UnsafePointer(feature)
    }
  }
}
