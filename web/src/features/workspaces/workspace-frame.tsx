import { Outlet } from '@tanstack/react-router'

export function WorkspaceFrame() {
  return <Outlet />
}
