import Synchronization

/// The orders to all faders of a graph, and the courses of its timelines. Never changed once a cycle can read it.
@safe
package struct MixOrders: BitwiseCopyable {
  let number: UInt64
  let orders: UnsafePointer<FaderOrder>
  let courses: UnsafePointer<GraphCourse>

  /// - Parameter number: Another one for each value that cycles get.
  package init(
    number: UInt64, _ orders: UnsafePointer<FaderOrder>, _ courses: UnsafePointer<GraphCourse>
  ) {
    self.number = number
    unsafe self.orders = orders
    unsafe self.courses = courses
  }
}

/// The faders of a graph, and the timelines of its curves. Owns no memory and has a fixed address.
///
/// The control thread replaces all orders at once. A cycle takes them as a whole before its nodes run.
@safe
package struct GraphMix: ~Copyable {
  private let latest: Atomic<UnsafeMutableRawPointer?>
  /// Number of the orders that the process thread has read last.
  private var number: UInt64 = 0
  /// Whether an order waits for its frame. Process thread.
  private var isWaiting = false
  private let faders: UnsafeMutablePointer<GraphFader>
  private let faderCount: Int
  private let courses: UnsafeMutablePointer<GraphCourse>
  private let courseCount: Int

  package init(
    faders: UnsafeMutablePointer<GraphFader>, count: Int,
    courses: UnsafeMutablePointer<GraphCourse>, count courseCount: Int
  ) {
    unsafe latest = Atomic(nil)
    unsafe self.faders = faders
    faderCount = count
    unsafe self.courses = courses
    self.courseCount = courseCount
  }

  /// Replaces the orders, effective with the next cycle. Call from one control thread at a time.
  package func publish(_ orders: UnsafeMutablePointer<MixOrders>) {
    unsafe latest.store(UnsafeMutableRawPointer(orders), ordering: .sequentiallyConsistent)
  }

  /// Takes the orders that are due in the cycle that begins at a device frame. Process thread.
  @_noLocks mutating func begin(at frame: Int64) {
    guard let latest = unsafe latest.load(ordering: .sequentiallyConsistent) else { return }
    let orders = unsafe latest.assumingMemoryBound(to: MixOrders.self).pointee
    if orders.number == number, !isWaiting { return }
    number = orders.number
    isWaiting = false
    for i in 0..<courseCount { unsafe courses[i] = orders.courses[i] }
    for i in 0..<faderCount {
      let order = unsafe orders.orders[i]
      if unsafe order.number == faders[i].number { continue }
      if order.start > frame {
        isWaiting = true
      } else {
        unsafe faders[i].take(order, at: frame)
      }
    }
  }
}
