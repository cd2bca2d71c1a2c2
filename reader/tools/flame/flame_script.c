/*
 * The script and the style sheet that every drawing contains. In a viewer that runs no scripts, the drawing is complete
 * but static.
 *
 * Each frame has the attributes data-x and data-w, its left edge and its width as fractions of the whole, and data-d,
 * its depth; the first line of its title is its name.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/flame/flame.h"

const char *const flame_style = "text{font:12px ui-monospace,'DejaVu Sans Mono',monospace;fill:#1a1a1a}"
                                ".h{font:bold 15px system-ui,sans-serif}"
                                ".s{font:12px system-ui,sans-serif;fill:#555}"
                                ".b{cursor:pointer;fill:#0b57d0}"
                                ".f{cursor:pointer}.f rect{stroke:#fff;stroke-width:.6}"
                                ".f text{pointer-events:none}"
                                ".f:hover rect{stroke:#1a1a1a}"
                                ".p rect{opacity:.45}.m rect{fill:#b14cd9}.m text{fill:#fff}";

const char *const flame_script =
    "'use strict';(function(){\n"
    "var svg=document.documentElement,NS='http://www.w3.org/2000/svg',XH='http://www.w3.org/1999/xhtml';\n"
    "var M=10,CH=7.25,detail=document.getElementById('detail'),found=document.getElementById('found');\n"
    "var reset=document.getElementById('reset'),at=null,term='',W=1200;\n"
    "var frames=[].map.call(document.getElementsByClassName('f'),function(g,i){\n"
    " var t=g.getElementsByTagName('title')[0].textContent,a=g.getElementsByTagName('text')[0];\n"
    " return {g:g,i:i,x:+g.dataset.x,w:+g.dataset.w,d:+g.dataset.d,t:t,n:t.split('\\n')[0],\n"
    "  r:g.getElementsByTagName('rect')[0],a:a};});\n"
    /* Places a frame, and writes as much of its name as fits. */
    "function put(f,x,w){\n"
    " f.g.style.display=w<0.3?'none':'';if(w<0.3)return;\n"
    " f.r.setAttribute('x',x.toFixed(2));f.r.setAttribute('width',w.toFixed(2));\n"
    " var c=Math.floor((w-6)/CH),n=Array.from(f.n);\n"
    " var s=c<2?'':n.length<=c?f.n:n.slice(0,c-1).join('')+'\\u2026';\n"
    " if(!f.a){if(!s)return;f.a=document.createElementNS(NS,'text');\n"
    "  f.a.setAttribute('y',+f.r.getAttribute('y')+13);f.g.appendChild(f.a);}\n"
    " f.a.setAttribute('x',(x+3).toFixed(2));f.a.textContent=s;}\n"
    /* The zoomed frame takes the full width; its ancestors are shown faded above it, and all others are hidden. */
    "function draw(){\n"
    " var z=at||{x:0,w:1,d:0},e=1e-8;\n"
    " frames.forEach(function(f){\n"
    "  var above=at&&f.d<z.d&&f.x<=z.x+e&&f.x+f.w>=z.x+z.w-e;\n"
    "  var below=f.d>=z.d&&f.x>=z.x-e&&f.x+f.w<=z.x+z.w+e;\n"
    "  f.g.classList.toggle('p',!!above);\n"
    "  if(above)put(f,M,W-2*M);\n"
    "  else if(below)put(f,M+(f.x-z.x)/z.w*(W-2*M),f.w/z.w*(W-2*M));\n"
    "  else f.g.style.display='none';});\n"
    " reset.style.display=at?'':'none';}\n"
    /* Frames nested in a match are part of it, so only the outermost matches are summed. */
    "function search(){\n"
    " var t=term.toLowerCase(),sum=0,count=0,end=-1,deep=0;\n"
    " frames.forEach(function(f){\n"
    "  var m=t!==''&&f.n.toLowerCase().indexOf(t)>=0;f.g.classList.toggle('m',m);if(!m)return;count++;\n"
    "  if(end>=0&&f.d>deep&&f.x<end-1e-8)return;sum+=f.w;end=f.x+f.w;deep=f.d;});\n"
    " found.textContent=t===''?'':count+' found, '+(sum*100).toFixed(1)+' %';}\n"
    "function keep(){\n"
    " var h=[];if(at)h.push('zoom='+at.i);if(term)h.push('search='+encodeURIComponent(term));\n"
    " try{history.replaceState(null,'','#'+h.join('&'));}catch(x){}}\n"
    "function zoom(f){at=f;draw();keep();}\n"
    "function fit(){\n"
    " W=Math.max(400,window.innerWidth||1200);svg.removeAttribute('viewBox');svg.setAttribute('width',W);\n"
    " if(box)box.setAttribute('x',W-230);found.setAttribute('x',W-240);draw();}\n"
    "frames.forEach(function(f){\n"
    " f.g.addEventListener('click',function(){zoom(f);});\n"
    " f.g.addEventListener('mouseenter',function(){detail.textContent=f.t.replace('\\n',':  ');});\n"
    " f.g.addEventListener('mouseleave',function(){detail.textContent='';});});\n"
    "reset.addEventListener('click',function(){zoom(null);});\n"
    "var box=document.createElementNS(NS,'foreignObject'),input=document.createElementNS(XH,'input');\n"
    "box.setAttribute('y',8);box.setAttribute('width',220);box.setAttribute('height',28);\n"
    "input.setAttribute('placeholder','search ( / )');input.setAttribute('type','search');\n"
    "input.setAttribute('style','width:200px;font:12px system-ui,sans-serif');\n"
    "box.appendChild(input);svg.appendChild(box);\n"
    "input.addEventListener('input',function(){term=input.value;search();keep();});\n"
    "window.addEventListener('keydown',function(e){\n"
    " if(e.key==='Escape'){term=input.value='';search();input.blur();zoom(null);}\n"
    " else if(e.key==='/'&&document.activeElement!==input){e.preventDefault();input.focus();}});\n"
    "window.addEventListener('resize',fit);\n"
    "(location.hash||'#').slice(1).split('&').forEach(function(p){\n"
    " var k=p.split('=');if(k[0]==='zoom')at=frames[+k[1]]||null;\n"
    " if(k[0]==='search'){try{term=decodeURIComponent(k[1]||'');}catch(x){}input.value=term;}});\n"
    "fit();search();\n"
    "})();\n";
