import threads from 'node:worker_threads'
import zlib from 'node:zlib'

/**
 * What the agent uses and Node 20 lacks. Only the built package loads it, before everything else: from a clone the agent runs
 * on Node 24.
 */

function define(target: object, name: PropertyKey, value: unknown) {
  if (!(name in target)) Object.defineProperty(target, name, { value, configurable: true, writable: true })
}

// The HTTP client refers to both as it is loaded. No server is asked for the encoding, and nothing is sent to threads.
define(zlib, 'createZstdDecompress', () => {
  throw new Error('this Node has no zstd')
})
define(threads, 'markAsUncloneable', () => {})
define(Symbol, 'dispose', Symbol('Symbol.dispose'))
define(Symbol, 'asyncDispose', Symbol('Symbol.asyncDispose'))

define(Promise, 'withResolvers', function withResolvers() {
  let resolve: unknown
  let reject: unknown
  const promise = new Promise((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
})

define(AbortSignal, 'any', (signals: Iterable<AbortSignal>) => {
  const controller = new AbortController()
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason)
    else
      signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true, signal: controller.signal })
  }
  return controller.signal
})

class OlderSuppressedError extends Error {
  override name = 'SuppressedError'
  error: unknown
  suppressed: unknown

  constructor(error: unknown, suppressed: unknown, message?: string) {
    super(message)
    this.error = error
    this.suppressed = suppressed
  }
}
define(globalThis, 'SuppressedError', OlderSuppressedError)

/** The disposal of several things, the last one first; an error does not keep the others from it. */
class Disposals {
  list: (() => unknown)[] = []
  disposed = false

  add(dispose: () => unknown) {
    if (this.disposed) throw new ReferenceError('the stack is disposed')
    this.list.push(dispose)
  }

  take(): (() => unknown)[] {
    this.disposed = true
    return this.list.splice(0).toReversed()
  }
}

function suppress(failures: unknown[]) {
  if (failures.length > 0) throw failures.reduce((former, error) => new OlderSuppressedError(error, former))
}

class OlderDisposableStack {
  disposals = new Disposals()

  use<T extends Disposable | null | undefined>(value: T): T {
    if (value != null) this.disposals.add(() => value[Symbol.dispose]())
    return value
  }

  defer(onDispose: () => void) {
    this.disposals.add(onDispose)
  }

  /** Hands all on to a new stack; this one has nothing to dispose of any more. */
  move(): OlderDisposableStack {
    const next = new OlderDisposableStack()
    next.disposals.list = this.disposals.take().toReversed()
    return next
  }

  dispose() {
    this[Symbol.dispose]()
  }

  [Symbol.dispose]() {
    const failures: unknown[] = []
    for (const dispose of this.disposals.take()) {
      try {
        dispose()
      } catch (error) {
        failures.push(error)
      }
    }
    suppress(failures)
  }
}
define(globalThis, 'DisposableStack', OlderDisposableStack)

class OlderAsyncDisposableStack {
  disposals = new Disposals()

  use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value != null) {
      this.disposals.add(() => (Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose]()))
    }
    return value
  }

  defer(onDispose: () => void | PromiseLike<void>) {
    this.disposals.add(onDispose)
  }

  async [Symbol.asyncDispose]() {
    const failures: unknown[] = []
    for (const dispose of this.disposals.take()) {
      try {
        await dispose()
      } catch (error) {
        failures.push(error)
      }
    }
    suppress(failures)
  }
}
define(globalThis, 'AsyncDisposableStack', OlderAsyncDisposableStack)
