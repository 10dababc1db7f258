import './styles.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Problem } from '../shared/problem.ts'
import { meQuery } from './me.ts'
import { makeRouter } from './router.tsx'
import { applyTheme, savedTheme } from './theme.ts'
import { ToastProvider } from './ui.tsx'

applyTheme(savedTheme())

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, e) => failures < 2 && !(e instanceof Problem && e.status < 500),
    },
  },
})

// A sign-in that ended while a page was open: the page gives way to the sign-in.
queries.getQueryCache().subscribe((event) => {
  const e = event.type === 'updated' && event.action.type === 'error' ? event.action.error : undefined
  if (e instanceof Problem && e.status === 401) queries.setQueryData(meQuery.queryKey, null)
})

const root = document.getElementById('root')
if (!root) throw new Error('no element to draw into')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ToastProvider>
        <RouterProvider router={makeRouter(queries)} />
      </ToastProvider>
    </QueryClientProvider>
  </StrictMode>,
)
