import CFile

/// The file of a plugin: messages of the host about it, and requests to the worker. Process thread, unless the
/// plugin does not run.
@safe
struct PluginFile: ~Copyable {
  let mailbox: UnsafeMutablePointer<cue_mailbox>
  private(set) var urids: cue_urids
  private let schedule: UnsafePointer<LV2_Worker_Schedule>?
  private var forge: LV2_Atom_Forge
  private var notify: UnsafeMutablePointer<LV2_Atom_Sequence>?
  /// Content that the worker has to free.
  private var retired: UnsafeMutableRawPointer?

  /// Returns nil if there is no memory.
  ///
  /// - Parameter parameter: URI of the parameter that names the file.
  init?(
    _ parameter: StaticString, rate: Double, map: UnsafeMutablePointer<LV2_URID_Map>,
    schedule: UnsafePointer<LV2_Worker_Schedule>?, log: UnsafeMutablePointer<LV2_Log_Log>?
  ) {
    guard let mailbox = unsafe cue_mailbox_new(rate, map, log, parameter.cString) else {
      return nil
    }
    unsafe self.mailbox = unsafe mailbox
    urids = unsafe mailbox.pointee.urids
    unsafe self.schedule = unsafe schedule
    unsafe forge = unsafe LV2_Atom_Forge()
    unsafe lv2_atom_forge_init(&forge, map)
  }

  func release() {
    unsafe cue_unload(retired)
    unsafe cue_mailbox_free(mailbox)
  }

  mutating func connect(notify port: UnsafeMutableRawPointer?) {
    unsafe notify = port?.assumingMemoryBound(to: LV2_Atom_Sequence.self)
  }

  /// True if the worker can load files while the plugin runs.
  var canLoad: Bool { unsafe schedule != nil }
  var status: Int { unsafe Int(mailbox.pointee.status) }
  /// Whether the worker has loaded content that the plugin has not taken.
  var hasIncoming: Bool { unsafe mailbox.pointee.incoming != nil }

  /// Loads the file of the state, or `usual` if that has none. The plugin does not run.
  func load(else usual: UnsafePointer<CChar>?, _ settings: cue_settings) -> UnsafeMutableRawPointer?
  {
    var path = InlineArray<4096, CChar>(repeating: 0)
    let loaded = unsafe withUnsafeMutableBytes(of: &path) { bytes in
      let wanted = unsafe bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
      unsafe cue_mailbox_wanted(mailbox, wanted)
      if unsafe wanted.pointee == 0, let usual = unsafe usual {
        return unsafe cue_load(mailbox, usual, settings)
      }
      return unsafe cue_load(mailbox, wanted, settings)
    }
    unsafe mailbox.pointee.status = unsafe loaded.status
    return unsafe loaded.content
  }

  /// Lets the worker load a file.
  ///
  /// - Returns: False if it loads another one, or there is none.
  @discardableResult
  mutating func request(_ path: UnsafePointer<CChar>, _ settings: cue_settings) -> Bool {
    if unsafe mailbox.pointee.is_loading || mailbox.pointee.incoming != nil { return false }
    unsafe mailbox.pointee.is_loading = true
    let isSent = unsafe cue_rt_request(schedule, path, settings, nil)
    // An offline host answers within the call.
    if !isSent { unsafe mailbox.pointee.is_loading = false }
    return isSent
  }

  /// Returns the content that the worker has loaded, once what was replaced before is freed; nil otherwise.
  mutating func takeIncoming() -> UnsafeMutableRawPointer? {
    guard unsafe retired == nil, let incoming = unsafe mailbox.pointee.incoming else { return nil }
    unsafe mailbox.pointee.incoming = nil
    return unsafe incoming
  }

  /// Lets the worker free content, in this cycle or in a later one.
  mutating func retire(_ content: UnsafeMutableRawPointer?) { unsafe retired = unsafe content }

  /// Lets the worker free what was retired.
  mutating func askWorker() {
    if let old = unsafe retired, unsafe cue_rt_request(schedule, nil, cue_settings(), old) {
      unsafe retired = nil
    }
  }

  /// Writes the port `notify`: nothing, or the path of the present file.
  mutating func answer(_ path: UnsafePointer<CChar>?) {
    if let notify = unsafe notify { unsafe cue_rt_notify(notify, &forge, &urids, path) }
  }

  /// Returns the path of a message that sets the file; nil if the event is none.
  mutating func path(in event: UnsafePointer<LV2_Atom_Event>) -> UnsafePointer<CChar>? {
    unsafe cue_rt_path(event, &urids)
  }

  /// Returns whether an event asks for the path.
  mutating func asks(_ event: UnsafePointer<LV2_Atom_Event>) -> Bool {
    unsafe cue_rt_asks(event, &urids)
  }
}
