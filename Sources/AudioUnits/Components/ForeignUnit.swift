package import CRealTime
package import RealTime
import Synchronization

/// An audio unit of the app, in the form of an AudioComponentPlugInInterface. Every call goes to its
/// functions.
@safe
package final class ForeignUnit: Unit, @unchecked Sendable {
  /// The app's functions.
  package let functions: UnsafeMutablePointer<cue_foreign>
  private let component: ForeignComponent
  private let isOpen = Mutex(false)
  private let initialized = Mutex(false)

  /// - Throws: `UnitError.failedInitialization` if the app makes no instance.
  init(_ name: String, _ description: ComponentDescription, _ component: ForeignComponent)
    throws(UnitError)
  {
    self.component = component
    guard let interface = unsafe component.make(description) else {
      throw .failedInitialization("the app made no instance of \(name)")
    }
    unsafe functions = .allocate(capacity: 1)
    unsafe functions.initialize(to: cue_foreign_functions(interface))
    unsafe super.init(name, inputs: [], outputs: [], Self.makeRender(foreign: functions))
  }

  deinit { unsafe functions.deallocate() }

  private var this: UnsafeMutableRawPointer {
    unsafe UnsafeMutableRawPointer(functions.pointee.interface)
  }

  private func check(_ status: Int32?) throws(UnitError) {
    let status = status ?? Int32(cue_foreign_lacks_it)
    if status != 0 { throw .status(status) }
  }

  // MARK: Life

  /// Tells the app the number of the unit. Call once, before anything else.
  package func open() throws(UnitError) {
    let number = handle.load(ordering: .relaxed)
    guard let instance = unsafe UnsafeMutableRawPointer(bitPattern: number) else { return }
    if let open = unsafe functions.pointee.interface.pointee.open {
      try check(unsafe open(this, instance))
    }
    isOpen.withLock { $0 = true }
  }

  override package var isInitialized: Bool { initialized.withLock { $0 } }

  override package func initialize() throws(UnitError) {
    if isInitialized { return }
    try check(unsafe functions.pointee.initialize?(this))
    initialized.withLock { $0 = true }
  }

  override package func uninitialize() {
    let was = initialized.withLock { initialized in
      defer { initialized = false }
      return initialized
    }
    if was { _ = unsafe functions.pointee.uninitialize?(this) }
  }

  override package func dispose() {
    super.dispose()
    let was = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if was { _ = unsafe functions.pointee.interface.pointee.close?(this) }
  }

  /// Starts an output unit of the app, or stops it.
  package func start(_ on: Bool) throws(UnitError) {
    let function = unsafe on ? functions.pointee.start : functions.pointee.stop
    try check(unsafe function?(this))
  }

  // MARK: Properties

  /// Asks for a property.
  ///
  /// - Returns: An error of the C API, or 0.
  package func property(
    _ id: UInt32, _ scope: UInt32, _ element: UInt32, _ value: UnsafeMutableRawPointer?,
    _ bytes: UnsafeMutablePointer<UInt32>
  ) -> Int32 {
    unsafe functions.pointee.get_property?(this, id, scope, element, value, bytes)
      ?? Int32(cue_foreign_lacks_it)
  }

  package func propertyInfo(
    _ id: UInt32, _ scope: UInt32, _ element: UInt32, _ bytes: UnsafeMutablePointer<UInt32>?,
    _ isWritable: UnsafeMutablePointer<Bool>?
  ) -> Int32 {
    unsafe functions.pointee.get_property_info?(this, id, scope, element, bytes, isWritable)
      ?? Int32(cue_foreign_lacks_it)
  }

  package func setProperty(
    _ id: UInt32, _ scope: UInt32, _ element: UInt32, _ value: UnsafeRawPointer?, _ bytes: UInt32
  ) -> Int32 {
    unsafe functions.pointee.set_property?(this, id, scope, element, value, bytes)
      ?? Int32(cue_foreign_lacks_it)
  }

  private func set(_ id: UInt32, _ scope: UInt32, _ element: UInt32, _ value: [UInt8])
    throws(UnitError)
  {
    let count = UInt32(value.count)
    try check(
      unsafe value.withUnsafeBytes { unsafe setProperty(id, scope, element, $0.baseAddress, count) }
    )
  }

  private func set(_ id: UInt32, _ scope: UInt32, _ element: UInt32, _ number: UInt32)
    throws(UnitError)
  {
    try set(id, scope, element, unsafe withUnsafeBytes(of: number) { unsafe Array($0) })
  }

  /// Sets a property of two words.
  private func set(_ id: UInt32, _ scope: UInt32, _ element: UInt32, _ first: UInt, _ second: UInt)
    throws(UnitError)
  {
    try set(id, scope, element, unsafe [first, second].withUnsafeBytes { unsafe Array($0) })
  }

  private func value(_ id: UInt32, _ scope: UInt32, _ element: UInt32, bytes: Int)
    throws(UnitError) -> [UInt8]
  {
    var value = [UInt8](repeating: 0, count: bytes)
    var count = UInt32(bytes)
    try check(
      unsafe value.withUnsafeMutableBytes {
        unsafe property(id, scope, element, $0.baseAddress, &count)
      })
    return value
  }

  package func addListener(
    _ id: UInt32, _ proc: UnsafeMutableRawPointer, _ data: UnsafeMutableRawPointer?
  ) -> Int32 {
    unsafe functions.pointee.add_listener?(this, id, proc, data) ?? Int32(cue_foreign_lacks_it)
  }

  /// - Parameter data: Nil for any.
  package func removeListener(
    _ id: UInt32, _ proc: UnsafeMutableRawPointer, _ data: UnsafeMutableRawPointer??
  ) -> Int32 {
    let status =
      if let data = unsafe data {
        unsafe functions.pointee.remove_listener_with_data?(this, id, proc, data)
      } else {
        unsafe functions.pointee.remove_listener?(this, id, proc)
      }
    return status ?? Int32(cue_foreign_lacks_it)
  }

  // The numbers of properties in the C API.
  private static var makeConnection: UInt32 { 1 }
  private static var streamFormat: UInt32 { 8 }
  private static var elementCount: UInt32 { 11 }
  private static var maximumFrames: UInt32 { 14 }
  private static var renderCallback: UInt32 { 23 }
  private static var bypassEffect: UInt32 { 21 }

  override package var isBypassed: Bool? {
    (try? value(Self.bypassEffect, 0, 0, bytes: 4)).map { $0 != [0, 0, 0, 0] }
  }
  override package func setBypassed(_ on: Bool) {
    try? set(Self.bypassEffect, 0, 0, on ? 1 : 0)
  }

  override package func busCount(_ side: Side) -> Int {
    guard let bytes = try? value(Self.elementCount, side.rawValue, 0, bytes: 4) else { return 1 }
    return Int(unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt32.self) })
  }

  override package func setBusCount(_ count: Int, _ side: Side) throws(UnitError) {
    try set(Self.elementCount, side.rawValue, 0, UInt32(count))
  }

  override package func setMaximumFrames(_ frames: Int) throws(UnitError) {
    try set(Self.maximumFrames, 0, 0, UInt32(frames))
  }

  override package func bus(_ side: Side, _ index: UInt32) throws(UnitError) -> Bus {
    let format = try value(Self.streamFormat, side.rawValue, index, bytes: 40)
    guard let known = component.decode(format) else {
      throw .formatNotSupported("the app's unit has a format that is no linear PCM")
    }
    return Bus(format: known)
  }

  override package func setFormat(_ format: BusFormat, _ side: Side, _ index: UInt32)
    throws(UnitError)
  {
    try set(Self.streamFormat, side.rawValue, index, component.encode(format))
  }

  override package func setCallback(
    _ proc: cue_render_proc?, _ data: UnsafeMutableRawPointer?, _ bus: UInt32
  ) throws(UnitError) {
    // An AURenderCallbackStruct.
    try set(
      Self.renderCallback, 1, bus, unsafe unsafeBitCast(proc, to: UInt.self),
      UInt(bitPattern: data))
  }

  override package func connect(_ source: Unit?, output: UInt32, to bus: UInt32) throws(UnitError) {
    if let source, (try? source.bus(.output, output).format) != (try? self.bus(.input, bus).format)
    {
      try? setFormat(source.bus(.output, output).format, .input, bus)
    }
    // An AudioUnitConnection: the source, its output, the input.
    let number = source?.handle.load(ordering: .relaxed) ?? 0
    try set(Self.makeConnection, 1, bus, number, UInt(output) | UInt(bus) << 32)
  }

  override package func forget() { _ = unsafe render.pointee.reset() }

  // MARK: Notifications of renders

  override package func add(_ notify: UnitNotify) throws(UnitError) {
    try check(unsafe functions.pointee.add_notify?(this, notify.proc, notify.data))
  }

  override package func remove(_ notify: UnitNotify) throws(UnitError) {
    try check(unsafe functions.pointee.remove_notify?(this, notify.proc, notify.data))
  }
}
