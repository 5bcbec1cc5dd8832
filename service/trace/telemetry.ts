// Spans to an OpenTelemetry collector, where the standard environment names one: OTLP over HTTP, in
// JSON. The packages are loaded only then. No global provider is set, since libraries would add
// spans of their own, with attributes we do not control.

import type { Logger } from "pino";
import { seldom } from "../flow/seldom.ts";
import { within } from "../flow/within.ts";
import { type Attributes, collectSpans, type SpanOptions, type Trace } from "./trace.ts";

/** A stop waits no longer than this for a slow collector. */
const stopMsMax = 3000;
const scope = "executable-address-service";

/**
 * @param environment https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 * @returns what sends the rest and stops; undefined where no collector is named
 * @throws an error of one sentence where the environment asks for what there is not
 */
export async function startTelemetry(
  environment: NodeJS.ProcessEnv,
  log: Logger,
): Promise<(() => Promise<void>) | undefined> {
  if (!isWanted(environment)) return undefined;
  refuseOther(environment);
  const api = await import("@opentelemetry/api");
  const { BasicTracerProvider, BatchSpanProcessor } = await import("@opentelemetry/sdk-trace-base");
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http");
  const resources = await import("@opentelemetry/resources");

  const tell = seldom();
  const warn = (text: string) =>
    tell("telemetry", (leftOut) => log.warn({ leftOut }, `telemetry: ${text.slice(0, 300)}`));
  const quiet = () => {};
  const logger = { error: warn, warn, info: quiet, debug: quiet, verbose: quiet };
  api.diag.setLogger(logger, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true });
  const named = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new BasicTracerProvider({
    resource: resources.resourceFromAttributes({ "service.name": scope }).merge(named),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  collectSpans(spansOf(provider.getTracer(scope), api));
  return async () => {
    collectSpans(undefined);
    const late = () => new Error("spans were not taken in time");
    await within(stopMsMax, provider.shutdown(), late).catch(() => {});
  };
}

const isWanted = (environment: NodeJS.ProcessEnv) =>
  Boolean(
    environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
  ) &&
  environment.OTEL_SDK_DISABLED?.toLowerCase() !== "true" &&
  environment.OTEL_TRACES_EXPORTER !== "none";

/** Refuses settings that would be ignored silently, or fail at each export. */
function refuseOther(environment: NodeJS.ProcessEnv): void {
  const only: Record<string, string> = {
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
    OTEL_TRACES_EXPORTER: "otlp",
  };
  for (const [name, wanted] of Object.entries(only)) {
    const found = environment[name];
    if (found && found !== wanted) {
      throw new Error(`${name} is ${JSON.stringify(found)}; expected ${wanted}, or nothing`);
    }
  }
  for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) {
    const found = environment[name];
    if (!found || /^https?:\/\/./.test(found)) continue;
    const wanted = "a URL such as http://127.0.0.1:4318";
    throw new Error(`${name}: expected ${wanted}, found ${found.length} characters`);
  }
}

type Api = typeof import("@opentelemetry/api");

function spansOf(tracer: import("@opentelemetry/api").Tracer, api: Api) {
  const kinds = {
    server: api.SpanKind.SERVER,
    client: api.SpanKind.CLIENT,
    internal: api.SpanKind.INTERNAL,
  };
  return ({ kind, name, attributes }: SpanOptions, parent: Trace | undefined) => {
    const isRemote = kind === "server";
    const above = parent && { ...parent, traceFlags: parent.flags, isRemote };
    const root = api.ROOT_CONTEXT;
    const context = above ? api.trace.setSpanContext(root, above) : root;
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, context);
    const { traceId, spanId, traceFlags: flags } = span.spanContext();
    return {
      trace: { traceId, spanId, flags },
      set: (more: Attributes) => void span.setAttributes(more),
      end(error?: unknown) {
        if (error !== undefined) {
          // An error's text may hold private data.
          span.setAttribute("error.type", error instanceof Error ? error.name : String(error));
          span.setStatus({ code: api.SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  };
}
