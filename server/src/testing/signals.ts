import type { App } from '../app.ts'

/** Waits until this server has received all signals so far. They arrive in order, shortly after the commit. */
export async function allSignals(app: App): Promise<void> {
  using mark = app.signals.subscribe('so-far')
  app.signals.publish(app.db, 'so-far')
  await mark.next({ timeoutMs: 5000 })
}
