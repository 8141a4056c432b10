package import AudioQueue
package import CoreFoundation

extension CallbackExecutor {
  /// A run loop in the given mode; nil for the common modes.
  package static func runLoop(_ loop: CFRunLoop, mode: CFString?) -> Self {
    .other { RunLoopContext(loop, mode, $0) }
  }
}

/// A run loop source that delivers callbacks.
private final class RunLoopContext: CallbackContext, @unchecked Sendable {
  private let loop: CFRunLoop
  private let source: CFRunLoopSource

  private final class Target {
    let deliver: @Sendable () -> Void
    init(_ deliver: @escaping @Sendable () -> Void) { self.deliver = deliver }
  }

  init(_ loop: CFRunLoop, _ mode: CFString?, _ deliver: @escaping @Sendable () -> Void) {
    self.loop = loop
    var context = unsafe CFRunLoopSourceContext()
    unsafe context.info = Unmanaged.passRetained(Target(deliver)).toOpaque()
    unsafe context.release = { info in
      if let info = unsafe info { unsafe Unmanaged<Target>.fromOpaque(info).release() }
    }
    unsafe context.perform = { info in
      if let info = unsafe info {
        unsafe Unmanaged<Target>.fromOpaque(info).takeUnretainedValue().deliver()
      }
    }
    unsafe source = CFRunLoopSourceCreate(nil, 0, &context)
    CFRunLoopAddSource(loop, source, mode?._core ?? kCFRunLoopCommonModes)
  }

  var isCurrent: Bool { CFRunLoopGetCurrent() === loop }

  var isServed: Bool { CFRunLoopCopyCurrentMode(loop) != nil }

  func wake() {
    CFRunLoopSourceSignal(source)
    CFRunLoopWakeUp(loop)
  }

  func invalidate() { CFRunLoopSourceInvalidate(source) }
}
