import { Outlet } from '@tanstack/react-router'

/** Layout of the documentation, which is public. */
export function DocumentationFrame() {
  return (
    <main className="mx-auto max-w-5xl p-6">
      <Outlet />
    </main>
  )
}
