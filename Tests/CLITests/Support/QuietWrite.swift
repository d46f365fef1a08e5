import Foundation

/// `write` to a pipe whose reader may be gone: returns -1 then, and no SIGPIPE ends the tests.
///
/// Ignoring the signal in the whole process would hand the setting down to child processes.
func quietWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  var pipeSignal = sigset_t()
  var before = sigset_t()
  sigemptyset(&pipeSignal)
  sigaddset(&pipeSignal, SIGPIPE)
  pthread_sigmask(SIG_BLOCK, &pipeSignal, &before)
  defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
  let count = write(descriptor, bytes.baseAddress, bytes.count)
  if count < 0, errno == EPIPE {
    var taken: Int32 = 0
    sigwait(&pipeSignal, &taken)
  }
  return count
}
