// For those who deploy by mixins: the dashboards and rules of the files, changed as `_config` says, beside those of other mixins.
//   jb install github.com/translation-exporter/translation-exporter@main
//   (import 'github.com/translation-exporter/translation-exporter/grafana/mixin.libsonnet') + {
//     _config+:: { selector: 'job="l10n"', overrides: { TranslationStateDiscarded: null } },
//   }
local alerts = std.parseYaml(importstr '../deploy/prometheus/alerts.yaml');

{
  _config+:: {
    // What the alerts read: label matchers, such as 'job=~"l10n.*"'. All if empty.
    selector: '',
    // Where the runbook is: %s stands for the name of the alert in lower case.
    runbookUrlPattern: 'https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/README.md#%s',
    // The root of Grafana, such as 'https://grafana.example.org', before the paths of dashboards in annotations.
    grafanaUrl: '',
    // The label that names the cluster in alerts and dashboards, where one Prometheus, Thanos or Mimir has several. A label that is not
    // there does no harm.
    clusterLabel: 'cluster',
    // By the name of the alert: its expr, for, labels, annotations; null leaves it out.
    overrides: {},
  },
  local config = $._config,
  local known = [rule.alert for group in alerts.groups for rule in group.rules],
  // A misspelt name would change nothing.
  local unknown = [
    '_config.overrides: there is no %s; there are %s' % [name, std.join(', ', known)]
    for name in std.objectFields(config.overrides)
    if !std.member(known, name)
  ],
  assert unknown == [] : std.join('; ', unknown),
  // Each metric in the files has braces, of which `{}` are empty.
  local rewritten(expression) =
    local selected = if config.selector == '' then expression else std.strReplace(
      std.strReplace(expression, '{', '{%(selector)s, ') % config, ', }', '}'
    );
    std.strReplace(selected, '(cluster, ', '(%s, ' % config.clusterLabel),
  // An annotation that queries a series names the labels of the alert.
  local asking(annotation) = std.foldl(
    function(changed, place) std.strReplace(changed, place % 'cluster', place % config.clusterLabel),
    ['{%s=%%q', '$labels.%s '],
    annotation
  ),
  // Where an alert leads.
  local linked(rule) = rule {
    annotations: std.mapWithKey(function(name, annotation) asking(annotation), rule.annotations) {
      runbook_url: config.runbookUrlPattern % std.asciiLower(rule.alert),
      dashboard: config.grafanaUrl + rule.annotations.dashboard,
    },
  },
  local changed(rule) =
    local override = std.get(config.overrides, rule.alert, {});
    if override == null then [] else [std.mergePatch(linked(rule) { expr: rewritten(rule.expr) }, override)],
  // The places of a dashboard that name the label; the variable keeps its name.
  local places = ['%s=~', '%s, namespace', ', %s)', '{{%s}}', '"%s":', '"namespace", "%s"'],
  local dashboard(text) = std.parseJson(std.foldl(
    function(changed, place) std.strReplace(changed, place % 'cluster', place % config.clusterLabel),
    places,
    // Much faster than std.manifestJson….
    std.toString(std.parseJson(text))
  )),

  prometheusAlerts+:: { groups+: [group { rules: std.flatMap(changed, group.rules) } for group in alerts.groups] },
  grafanaDashboards+:: {
    'translation-progress.json': dashboard(importstr 'dashboards/translation-progress.json'),
    'translation-repository.json': dashboard(importstr 'dashboards/translation-repository.json'),
    'translation-exporter.json': dashboard(importstr 'dashboards/translation-exporter.json'),
  },
}
